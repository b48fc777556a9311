"""Who is able to fetch: built-in fetchers and registered ones, as the database knows them."""
